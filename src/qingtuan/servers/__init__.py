"""What other programs call: servers of protocols that are no chat apps."""
