"""`python -m numerate_lab`: the whole command line, with the laboratory's commands, installed or not."""

from numerate.cli.app import app
from numerate_lab.commands.wiring import add_commands

if not any(command.name == "compare" for command in app.registered_commands):  # added already where it is installed
    add_commands(app)
app(prog_name="numerate")
