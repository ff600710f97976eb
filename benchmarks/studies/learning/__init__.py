"""Studies of training: methods and learners compared, throughput, and the programs of the guides, run as a reader
would. It may import everything but the command line."""
