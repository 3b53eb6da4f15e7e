"""What the product does, told in the terms of its users; called by the API and the command line."""
