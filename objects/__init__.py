"""Objects in the stores of clouds: put, put if absent, get, list, delete. No Kafka."""
