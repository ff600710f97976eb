"""Tables as pictures: SVG with card faces and letters of its own, and PNG from that."""
