// placeholder until the xDS part writes it
