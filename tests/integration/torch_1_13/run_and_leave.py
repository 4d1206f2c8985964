"""Runs a script, and then leaves without taking the interpreter down.

Gloo's threads in torch 1.13 drop the tensors of the last collective when it is
done already, for which they need the interpreter. If that is on its way down, they
abort the process.
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
