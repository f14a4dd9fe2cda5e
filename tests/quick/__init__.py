"""The quick way from large files to the store, held to what the general decoder makes of them."""
