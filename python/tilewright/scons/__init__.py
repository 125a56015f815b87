"""The folder of the SCons tool: give it to SCons as ``toolpath``, and ``tilewright`` as a tool.

The tool needs only Python itself, so that SCons may run in another environment than Tilewright.
"""
