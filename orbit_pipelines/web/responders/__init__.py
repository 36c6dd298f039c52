"""Who replies in the chat: the protocol and one module per responder."""
