"""The checks, one file each; ``run.CHECKS`` lists them."""
