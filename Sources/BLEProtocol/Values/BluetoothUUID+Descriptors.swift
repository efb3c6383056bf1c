/// Descriptors of the Generic Attribute Profile (Core Specification, Vol 3, Part G, 3.8).
extension BluetoothUUID {
    /// Characteristic Extended Properties, 0x2900.
    public static let characteristicExtendedProperties = BluetoothUUID(0x2900)
    /// Characteristic User Description, 0x2901.
    public static let characteristicUserDescription = BluetoothUUID(0x2901)
    /// Client Characteristic Configuration, 0x2902.
    public static let clientCharacteristicConfiguration = BluetoothUUID(0x2902)
    /// Server Characteristic Configuration, 0x2903.
    public static let serverCharacteristicConfiguration = BluetoothUUID(0x2903)
    /// Characteristic Presentation Format, 0x2904.
    public static let characteristicPresentationFormat = BluetoothUUID(0x2904)
    /// Characteristic Aggregate Format, 0x2905.
    public static let characteristicAggregateFormat = BluetoothUUID(0x2905)
    /// Valid Range, 0x2906.
    public static let validRange = BluetoothUUID(0x2906)
    /// External Report Reference, 0x2907.
    public static let externalReportReference = BluetoothUUID(0x2907)
    /// Report Reference, 0x2908.
    public static let reportReference = BluetoothUUID(0x2908)
    /// Environmental Sensing Configuration, 0x290B.
    public static let environmentalSensingConfiguration = BluetoothUUID(0x290B)
    /// Environmental Sensing Measurement, 0x290C.
    public static let environmentalSensingMeasurement = BluetoothUUID(0x290C)
    /// Environmental Sensing Trigger Setting, 0x290D.
    public static let environmentalSensingTriggerSetting = BluetoothUUID(0x290D)
}
