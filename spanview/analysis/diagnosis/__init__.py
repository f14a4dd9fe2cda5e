"""Why a folder looks the way it does: what was found, with its evidence, and what to do about it.

columns, tallies, problems ──> facts ──> a detector a kind ──> report: findings, most severe first
"""
