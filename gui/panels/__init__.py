"""What stands beside the results: advice and derivation, as a panel or behind a rail."""
