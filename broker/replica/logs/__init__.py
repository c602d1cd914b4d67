"""The logs of partitions: opened when first needed, checkpointed; is there room?"""
