internal import BLERadio
