"""The data pipeline on Spark: metric logs in; communication graphs, profiles and results out.

Nothing here is imported by the brain's serving path but :mod:`brain.pipeline.profile`, which reads
the Parquet that the pipeline wrote without starting Spark.
"""
