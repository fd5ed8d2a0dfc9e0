"""Where data is read, bounded and grouped. Nothing that leaves an engine is private yet."""

from tamis.engines.protocol import Counted, Engine, Request

__all__ = ["Counted", "Engine", "Request"]
