"""What is done to logs beside the traffic: retention, scrubbing, compaction, moves."""
