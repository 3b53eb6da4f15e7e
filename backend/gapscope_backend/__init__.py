"""The part of Gapscope that runs once: store, services, web API, analysis and the command line."""
