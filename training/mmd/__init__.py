"""The phase `mmd`: magnetic mirror descent in self-play. It takes advantages along a seat's decisions from `ppo`."""
