/// Services that the Bluetooth SIG assigned (Assigned Numbers, 3.4).
extension BluetoothUUID {
    /// Generic Access, 0x1800.
    public static let genericAccess = BluetoothUUID(0x1800)
    /// Generic Attribute, 0x1801.
    public static let genericAttribute = BluetoothUUID(0x1801)
    /// Immediate Alert, 0x1802.
    public static let immediateAlert = BluetoothUUID(0x1802)
    /// Link Loss, 0x1803.
    public static let linkLoss = BluetoothUUID(0x1803)
    /// Tx Power, 0x1804.
    public static let txPower = BluetoothUUID(0x1804)
    /// Current Time, 0x1805.
    public static let currentTime = BluetoothUUID(0x1805)
    /// Reference Time Update, 0x1806.
    public static let referenceTimeUpdate = BluetoothUUID(0x1806)
    /// Next DST Change, 0x1807.
    public static let nextDSTChange = BluetoothUUID(0x1807)
    /// Glucose, 0x1808.
    public static let glucose = BluetoothUUID(0x1808)
    /// Health Thermometer, 0x1809.
    public static let healthThermometer = BluetoothUUID(0x1809)
    /// Device Information, 0x180A.
    public static let deviceInformation = BluetoothUUID(0x180A)
    /// Heart Rate, 0x180D.
    public static let heartRate = BluetoothUUID(0x180D)
    /// Phone Alert Status, 0x180E.
    public static let phoneAlertStatus = BluetoothUUID(0x180E)
    /// Battery, 0x180F.
    public static let battery = BluetoothUUID(0x180F)
    /// Blood Pressure, 0x1810.
    public static let bloodPressure = BluetoothUUID(0x1810)
    /// Alert Notification, 0x1811.
    public static let alertNotification = BluetoothUUID(0x1811)
    /// Human Interface Device, 0x1812.
    public static let humanInterfaceDevice = BluetoothUUID(0x1812)
    /// Scan Parameters, 0x1813.
    public static let scanParameters = BluetoothUUID(0x1813)
    /// Running Speed and Cadence, 0x1814.
    public static let runningSpeedAndCadence = BluetoothUUID(0x1814)
    /// Automation IO, 0x1815.
    public static let automationIO = BluetoothUUID(0x1815)
    /// Cycling Speed and Cadence, 0x1816.
    public static let cyclingSpeedAndCadence = BluetoothUUID(0x1816)
    /// Cycling Power, 0x1818.
    public static let cyclingPower = BluetoothUUID(0x1818)
    /// Location and Navigation, 0x1819.
    public static let locationAndNavigation = BluetoothUUID(0x1819)
    /// Environmental Sensing, 0x181A.
    public static let environmentalSensing = BluetoothUUID(0x181A)
    /// Body Composition, 0x181B.
    public static let bodyComposition = BluetoothUUID(0x181B)
    /// User Data, 0x181C.
    public static let userData = BluetoothUUID(0x181C)
    /// Weight Scale, 0x181D.
    public static let weightScale = BluetoothUUID(0x181D)
    /// Bond Management, 0x181E.
    public static let bondManagement = BluetoothUUID(0x181E)
    /// Continuous Glucose Monitoring, 0x181F.
    public static let continuousGlucoseMonitoring = BluetoothUUID(0x181F)
    /// Pulse Oximeter, 0x1822.
    public static let pulseOximeter = BluetoothUUID(0x1822)
    /// Object Transfer, 0x1825.
    public static let objectTransfer = BluetoothUUID(0x1825)
    /// Fitness Machine, 0x1826.
    public static let fitnessMachine = BluetoothUUID(0x1826)
    /// Mesh Provisioning, 0x1827.
    public static let meshProvisioning = BluetoothUUID(0x1827)
    /// Mesh Proxy, 0x1828.
    public static let meshProxy = BluetoothUUID(0x1828)
    /// Binary Sensor, 0x183B.
    public static let binarySensor = BluetoothUUID(0x183B)
    /// Device Time, 0x1847.
    public static let deviceTime = BluetoothUUID(0x1847)
}
