"""Runs a script, and then ends the process without finalizing the interpreter.

In torch 1.13, Gloo's threads drop the tensors of the last collective after it is done.
For this they need the interpreter: if it is being finalized, they abort the process.
"""

import os
import runpy
import sys

sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
