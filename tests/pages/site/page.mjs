// What a page can be asked to do: globals, for a driver's script runs in a realm of its own.
import "/site/connections.mjs";
import "/site/places.mjs";
import "/site/relay.mjs";
