"""The data pipeline on Spark: topics become tables, and tables become topics.

Spark looks for data sources in top-level modules named ``pyspark_*``, so that
``spark.read.format("odradek")`` needs no registration.
"""
