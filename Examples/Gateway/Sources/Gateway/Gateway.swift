import BLEStreams
import BLEDevices
import BLESimulator
