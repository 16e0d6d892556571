"""The agent beside each supervisor: probes, gossip, local rates, and the MAPE loop.

It imports neither numpy nor scipy, pandas or Spark, here or in what it uses: it must stay small.
"""
