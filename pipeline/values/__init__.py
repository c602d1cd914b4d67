"""Values of records: JSON, Avro, Protobuf, and those that cannot be decoded."""
