"""What a placement would do on a cluster that is not there: loads, throughput and latency."""

from brain.simulate.costs import Costs, default_costs
from brain.simulate.flows import Flows, flows_of
from brain.simulate.forecast import Forecast, forecast
from brain.simulate.network import Network

__all__ = ["Costs", "Flows", "Forecast", "Network", "default_costs", "flows_of", "forecast"]
