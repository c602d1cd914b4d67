#!/bin/sh
# In Confluent's image these write a configuration; here the environment is one.
:
