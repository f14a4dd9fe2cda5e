"""The quick way from large files to the store, for records that are in every line as the SDK writes them."""
