"""What leaves: a file with its guarantee and certificate, and the questions it answers."""

from tamis.releases.make import release
from tamis.releases.release import Release

__all__ = ["Release", "release"]
