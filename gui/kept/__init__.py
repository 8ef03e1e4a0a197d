"""What outlives the window: choices, pins, presets, runs, results, recovery, the log of crashes."""
