import BLEProtocol
public import BLERadio
import CLibrary
import FoundationEssentials

extension Bond {
    /// Reads the bonds in bluetoothd's files; ``Central/adopt(_:replacing:)`` makes them available to this program.
    ///
    /// Reading them requires root; the files are not changed, and bluetoothd keeps its bonds. Devices without a Low
    /// Energy key are left out, and so are those with the debug key.
    ///
    /// Reads files, so don't call it on ``Central/executor``. Source: BlueZ, `doc/settings-storage.txt`, and
    /// `src/adapter.c`, `get_ltk`.
    ///
    /// - Parameter folder: the folder of the files.
    /// - Throws: ``BLEError/Code/permissionDenied`` if this user may not read them, ``BLEError/Code/notFound`` if the
    ///   folder doesn't exist or isn't bluetoothd's, ``BLEError/Code/malformedValue`` with the name of a file that
    ///   can't be parsed, ``BLEError/Code/systemFailure`` if they can't be read for another reason.
    public static func importedFromBluetoothd(in folder: String = "/var/lib/bluetooth") throws -> [Bond] {
        var bonds: [Bond] = []
        for adapter in try BluetoothdBonds.adapters(in: folder) {
            for peer in try BluetoothdBonds.addresses(in: "\(folder)/\(adapter)") {
                let path = "\(folder)/\(adapter)/\(peer)/info"
                guard let text = try BluetoothdBonds.text(of: path) else { continue }
                guard let file = BluetoothdBonds(text) else {
                    let remedy = "Run \"bluetoothctl remove \(peer)\", then pair again."
                    throw BLEError.noBondFile(path, remedy: remedy)
                }
                if let bond = file.bond(peer, adapter) { bonds.append(bond) }
            }
        }
        return bonds
    }
}

/// A bond in bluetoothd's file of a device.
struct BluetoothdBonds {
    private var kind: BluetoothAddress.Kind?
    private var keys: [Bond.EncryptionKey] = []
    private var identityKey: SecretKey?

    /// The adapters that have a subfolder; none in an empty folder, as before bluetoothd has had an adapter.
    ///
    /// - Throws: a `BLEError` if the folder has other things only, or if it is the folder of one adapter: whoever names
    ///   a wrong folder must not take its devices for not bonded.
    fileprivate static func adapters(in folder: String) throws(BLEError) -> [String] {
        let all = try names(in: folder)
        let adapters = all.filter(isAddress)
        // bluetooth-meshd's subfolder, or that of a file system, may be the only one.
        if adapters.isEmpty, !Set(all).isSubset(of: ["mesh", "lost+found"]) { throw .ofNoAdapter(folder) }
        // Only a device has this file.
        if adapters.contains(where: { access("\(folder)/\($0)/info", F_OK) == 0 }) { throw .ofOneAdapter(folder) }
        return adapters
    }

    /// The names of subfolders that are addresses.
    static func addresses(in folder: String) throws(BLEError) -> [String] { try names(in: folder).filter(isAddress) }

    private static func isAddress(_ name: String) -> Bool { BluetoothAddress(name + "/public") != nil }

    /// The names of what is in a folder, in order, without hidden files: a package may keep an empty folder by one.
    private static func names(in folder: String) throws(BLEError) -> [String] {
        guard let listing = opendir(folder) else {
            throw .cannotRead(folder, errno)
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = TrustedFolder.name(of: entry)
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// The content of a device's file; `nil` if there is none: then there is no bond.
    fileprivate static func text(of path: String) throws(BLEError) -> String? {
        do throws(BLEError) {
            return String(decoding: try SecretFile.read(path), as: UTF8.self)
        } catch {
            switch error.systemError {
            case ENOENT?, ENOTDIR?: return nil
            case let number? where number == EACCES || number == EPERM: throw .cannotRead(path, number)
            default: throw error
            }
        }
    }

    /// Reads a file; `nil` if a key in it is invalid.
    init?(_ text: String) {
        let groups = Self.groups(of: text)
        switch groups["General"]?["AddressType"] {
        case "public": kind = .public
        case "static": kind = .random
        default: break
        }
        if let group = groups["IdentityResolvingKey"] {
            guard let key = Self.key(group) else { return nil }
            identityKey = key
        }
        // The peripheral's key has two names, since older releases read the files too.
        let ofPeripheral = groups["PeripheralLongTermKey"] ?? groups["SlaveLongTermKey"]
        for (group, initiator) in [(groups["LongTermKey"], UInt8(1)), (ofPeripheral, 0)] {
            guard let group else { continue }
            guard let key = Self.encryptionKey(group, initiator) else { return nil }
            if key.kind != Self.debugKind { keys.append(key) }
        }
    }

    /// The management interface's number of the debug key, which is public.
    private static let debugKind: UInt8 = 4

    /// The bond; `nil` if there is none for Low Energy.
    func bond(_ peer: String, _ adapter: String) -> Bond? {
        guard let kind, !keys.isEmpty,
            let peer = BluetoothAddress("\(peer)/\(kind.rawValue)"),
            // Linux supports adapters without a public address, but bluetoothd's files don't record that.
            let adapter = BluetoothAddress("\(adapter)/public")
        else { return nil }
        return Bond(peer: peer, adapter: adapter, encryptionKeys: keys, identityKey: identityKey)
    }

    /// `[Group]`, and `Name=value` below it; the rest is ignored.
    private static func groups(of text: String) -> [String: [String: String]] {
        var groups: [String: [String: String]] = [:]
        var name = ""
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                name = String(line[line.index(after: line.startIndex)..<end])
                groups[name, default: [:]] = groups[name] ?? [:]
            } else if !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
                groups[name, default: [:]][String(line[..<equals])] = String(line[line.index(after: equals)...])
            }
        }
        return groups
    }

    private static func encryptionKey(_ group: [String: String], _ initiator: UInt8) -> Bond.EncryptionKey? {
        guard let value = key(group),
            let kind = UInt8(group["Authenticated"] ?? "0"),
            let size = UInt8(group["EncSize"] ?? "16"), (7...16).contains(size),
            let diversifier = UInt16(group["EDiv"] ?? "0"),
            let random = UInt64(group["Rand"] ?? "0")
        else { return nil }
        return Bond.EncryptionKey(
            kind: kind,
            initiator: initiator,
            size: size,
            diversifier: diversifier,
            random: random,
            value: value
        )
    }

    /// Sixteen octets in hexadecimal, in the order of the management interface.
    private static func key(_ group: [String: String]) -> SecretKey? {
        guard var digits = group["Key"]?.utf8.map({ $0 }) else { return nil }
        if digits.starts(with: "0x".utf8) { digits.removeFirst(2) }
        guard digits.count == 32 else { return nil }
        var octets: [UInt8] = []
        for start in stride(from: 0, to: 32, by: 2) {
            let pair = digits[start..<start + 2].map { Character(UnicodeScalar($0)).hexDigitValue }
            guard let high = pair[0], let low = pair[1] else { return nil }
            octets.append(UInt8(high << 4 | low))
        }
        return SecretKey(octets: octets)
    }
}

extension BLEError {
    fileprivate static func ofNoAdapter(_ path: String) -> BLEError {
        BLEError(
            .notFound,
            operation: "import from",
            object: path,
            cause: "it has none of the folders that bluetoothd keeps for adapters",
            remedy: "Pass the folder with its bonds."
        )
    }

    fileprivate static func ofOneAdapter(_ path: String) -> BLEError {
        BLEError(
            .notFound,
            operation: "import from",
            object: path,
            cause: "it is bluetoothd's folder of one adapter, and not that of all adapters",
            remedy: "Pass the folder above it."
        )
    }

    fileprivate static func cannotRead(_ path: String, _ number: Int32) -> BLEError {
        let (code, cause, remedy): (Code, String, String)
        switch number {
        case ENOENT, ENOTDIR:
            (code, cause, remedy) = (.notFound, "it has no files of bluetoothd", "Pass the folder with its bonds.")
        case EACCES, EPERM:
            (code, cause, remedy) = (.permissionDenied, String(cString: strerror(number)), "Run this as root.")
        default: return store("import from", path, errno: number)
        }
        var error = BLEError(code, operation: "import from", object: path, cause: cause, remedy: remedy)
        error.systemError = number
        return error
    }
}

extension BluetoothdBonds: CustomStringConvertible, CustomReflectable {
    /// Without the keys.
    var description: String { "\(keys.count) keys of bluetoothd's" }
    /// Nothing.
    var customMirror: Mirror { Mirror(self, children: []) }
}
