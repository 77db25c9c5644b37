"""The composition root: settings in, a working instance out. The only place that constructs the parts."""

from __future__ import annotations

from qingtuan.app.instance import PROJECTIONS, App

__all__ = ["PROJECTIONS", "App"]
