"""Where the time of some traces goes, as blocks.

flame_model   which blocks stand where
flame_screen  the blocks and the screen
"""
