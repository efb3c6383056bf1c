/// The names that the Bluetooth SIG has assigned to company numbers and kinds of devices.
///
/// ```swift
/// for try await discovery in central.scan() {
///     let company = discovery.advertisement.manufacturerData.first.flatMap { AssignedNumbers.company($0.company) }
///     print(discovery.address, company ?? "")
/// }
/// ```
///
/// For services, characteristics and descriptors, use `BluetoothUUID.name`. Source: Bluetooth SIG, Assigned Numbers,
/// 2.6 and 7.
public enum AssignedNumbers {
    /// The name of the company with this identifier, in its own spelling: `Nordic Semiconductor ASA`; `nil` if it isn't
    /// in the table.
    public static func company(_ identifier: UInt16) -> String? { companyNames[identifier].map { String($0) } }

    /// The kind of device with this appearance: `Heart Rate Belt`; the category if the kind isn't in the table, and
    /// `nil` if that isn't either.
    public static func appearance(_ appearance: UInt16) -> String? {
        // The lowest six bits are the kind within a category.
        (appearanceNames[appearance] ?? appearanceNames[appearance & ~0x3F]).map { String($0) }
    }

    // Decoded at the first lookup.
    private static let companyNames = names(in: companies)
    private static let appearanceNames = names(in: appearances)

    private static func names(in table: String) -> [UInt16: Substring] {
        var names: [UInt16: Substring] = [:]
        for line in table.split(separator: "\n") {
            if let number = UInt16(line.prefix(4), radix: 16) { names[number] = line.dropFirst(5) }
        }
        return names
    }
}
