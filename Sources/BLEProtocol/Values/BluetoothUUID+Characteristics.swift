extension BluetoothUUID {
    /// Characteristics that the Bluetooth SIG assigned (Assigned Numbers, 3.8), as bare UUIDs.
    ///
    /// They have their own namespace, so that `.heartRateMeasurement` can stand for the typed characteristic where a
    /// type is expected.
    public enum Characteristics {
        /// Device Name, 0x2A00.
        public static let deviceName = BluetoothUUID(0x2A00)
        /// Appearance, 0x2A01.
        public static let appearance = BluetoothUUID(0x2A01)
        /// Peripheral Preferred Connection Parameters, 0x2A04.
        public static let peripheralPreferredConnectionParameters = BluetoothUUID(0x2A04)
        /// Service Changed, 0x2A05.
        public static let serviceChanged = BluetoothUUID(0x2A05)
        /// Alert Level, 0x2A06.
        public static let alertLevel = BluetoothUUID(0x2A06)
        /// Tx Power Level, 0x2A07.
        public static let txPowerLevel = BluetoothUUID(0x2A07)
        /// Date Time, 0x2A08.
        public static let dateTime = BluetoothUUID(0x2A08)
        /// Glucose Measurement, 0x2A18.
        public static let glucoseMeasurement = BluetoothUUID(0x2A18)
        /// Battery Level, 0x2A19.
        public static let batteryLevel = BluetoothUUID(0x2A19)
        /// Temperature Measurement, 0x2A1C.
        public static let temperatureMeasurement = BluetoothUUID(0x2A1C)
        /// Temperature Type, 0x2A1D.
        public static let temperatureType = BluetoothUUID(0x2A1D)
        /// Intermediate Temperature, 0x2A1E.
        public static let intermediateTemperature = BluetoothUUID(0x2A1E)
        /// Measurement Interval, 0x2A21.
        public static let measurementInterval = BluetoothUUID(0x2A21)
        /// System ID, 0x2A23.
        public static let systemID = BluetoothUUID(0x2A23)
        /// Model Number String, 0x2A24.
        public static let modelNumber = BluetoothUUID(0x2A24)
        /// Serial Number String, 0x2A25.
        public static let serialNumber = BluetoothUUID(0x2A25)
        /// Firmware Revision String, 0x2A26.
        public static let firmwareRevision = BluetoothUUID(0x2A26)
        /// Hardware Revision String, 0x2A27.
        public static let hardwareRevision = BluetoothUUID(0x2A27)
        /// Software Revision String, 0x2A28.
        public static let softwareRevision = BluetoothUUID(0x2A28)
        /// Manufacturer Name String, 0x2A29.
        public static let manufacturerName = BluetoothUUID(0x2A29)
        /// IEEE 11073-20601 Regulatory Certification Data List, 0x2A2A.
        public static let regulatoryCertification = BluetoothUUID(0x2A2A)
        /// Current Time, 0x2A2B.
        public static let currentTime = BluetoothUUID(0x2A2B)
        /// Glucose Measurement Context, 0x2A34.
        public static let glucoseMeasurementContext = BluetoothUUID(0x2A34)
        /// Blood Pressure Measurement, 0x2A35.
        public static let bloodPressureMeasurement = BluetoothUUID(0x2A35)
        /// Intermediate Cuff Pressure, 0x2A36.
        public static let intermediateCuffPressure = BluetoothUUID(0x2A36)
        /// Heart Rate Measurement, 0x2A37.
        public static let heartRateMeasurement = BluetoothUUID(0x2A37)
        /// Body Sensor Location, 0x2A38.
        public static let bodySensorLocation = BluetoothUUID(0x2A38)
        /// Heart Rate Control Point, 0x2A39.
        public static let heartRateControlPoint = BluetoothUUID(0x2A39)
        /// Blood Pressure Feature, 0x2A49.
        public static let bloodPressureFeature = BluetoothUUID(0x2A49)
        /// PnP ID, 0x2A50.
        public static let pnpID = BluetoothUUID(0x2A50)
        /// Glucose Feature, 0x2A51.
        public static let glucoseFeature = BluetoothUUID(0x2A51)
        /// Record Access Control Point, 0x2A52.
        public static let recordAccessControlPoint = BluetoothUUID(0x2A52)
        /// RSC Measurement, 0x2A53.
        public static let runningMeasurement = BluetoothUUID(0x2A53)
        /// RSC Feature, 0x2A54.
        public static let runningFeature = BluetoothUUID(0x2A54)
        /// SC Control Point, 0x2A55.
        public static let speedAndCadenceControlPoint = BluetoothUUID(0x2A55)
        /// CSC Measurement, 0x2A5B.
        public static let cyclingMeasurement = BluetoothUUID(0x2A5B)
        /// CSC Feature, 0x2A5C.
        public static let cyclingFeature = BluetoothUUID(0x2A5C)
        /// Sensor Location, 0x2A5D.
        public static let sensorLocation = BluetoothUUID(0x2A5D)
        /// PLX Spot-Check Measurement, 0x2A5E.
        public static let spotCheckMeasurement = BluetoothUUID(0x2A5E)
        /// PLX Continuous Measurement, 0x2A5F.
        public static let continuousOximeterMeasurement = BluetoothUUID(0x2A5F)
        /// Cycling Power Measurement, 0x2A63.
        public static let cyclingPowerMeasurement = BluetoothUUID(0x2A63)
        /// Cycling Power Feature, 0x2A65.
        public static let cyclingPowerFeature = BluetoothUUID(0x2A65)
        /// Cycling Power Control Point, 0x2A66.
        public static let cyclingPowerControlPoint = BluetoothUUID(0x2A66)
        /// Elevation, 0x2A6C.
        public static let elevation = BluetoothUUID(0x2A6C)
        /// Pressure, 0x2A6D.
        public static let pressure = BluetoothUUID(0x2A6D)
        /// Temperature, 0x2A6E.
        public static let temperature = BluetoothUUID(0x2A6E)
        /// Humidity, 0x2A6F.
        public static let humidity = BluetoothUUID(0x2A6F)
        /// UV Index, 0x2A76.
        public static let uvIndex = BluetoothUUID(0x2A76)
        /// Weight, 0x2A98.
        public static let weight = BluetoothUUID(0x2A98)
        /// Weight Measurement, 0x2A9D.
        public static let weightMeasurement = BluetoothUUID(0x2A9D)
        /// Weight Scale Feature, 0x2A9E.
        public static let weightScaleFeature = BluetoothUUID(0x2A9E)
        /// Central Address Resolution, 0x2AA6.
        public static let centralAddressResolution = BluetoothUUID(0x2AA6)
        /// Resolvable Private Address Only, 0x2AC9.
        public static let resolvablePrivateAddressOnly = BluetoothUUID(0x2AC9)
        /// Client Supported Features, 0x2B29.
        public static let clientSupportedFeatures = BluetoothUUID(0x2B29)
        /// Database Hash, 0x2B2A.
        public static let databaseHash = BluetoothUUID(0x2B2A)
        /// Server Supported Features, 0x2B3A.
        public static let serverSupportedFeatures = BluetoothUUID(0x2B3A)
    }
}
