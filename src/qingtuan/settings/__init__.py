"""What the owner can set, where each value comes from, and the file that explains it all."""

from qingtuan.settings.catalog import Setting, describe
from qingtuan.settings.dotenv import read_dotenv
from qingtuan.settings.load import load
from qingtuan.settings.model import Settings
from qingtuan.settings.source import Place, Source

__all__ = ["Place", "Setting", "Settings", "Source", "describe", "load", "read_dotenv"]
