"""The part of Gapscope that runs on every GPU host: sources, derivation, batches, delivery."""
