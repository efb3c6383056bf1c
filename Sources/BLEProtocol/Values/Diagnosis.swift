/// The result of examining this machine: its adapters, and what prevents the library from working with them.
public struct Diagnosis: Hashable, Sendable {
    /// The operating system and its release: `Linux 6.12.41`.
    public let system: String

    /// The adapters that were examined.
    public let adapters: [AdapterInfo]

    /// What was found, the most severe first; empty if all is well.
    public private(set) var findings: [Finding]

    /// Describes a machine.
    package init(system: String, adapters: [AdapterInfo] = [], findings: [Finding] = []) {
        self.system = system
        self.adapters = adapters
        self.findings = []
        for finding in findings { add(finding) }
    }

    /// Whether nothing prevents the library from working: no finding is an ``Severity/obstacle``.
    public var isUsable: Bool { !findings.contains { $0.severity == .obstacle } }

    /// Adds a finding after those that are as severe.
    package mutating func add(_ finding: Finding) {
        let rest = findings.firstIndex { $0.severity > finding.severity } ?? findings.endIndex
        findings.insert(finding, at: rest)
    }
}

extension Diagnosis {
    /// One finding, and what to do about it.
    public struct Finding: Hashable, Sendable {
        /// The kind of finding.
        public let kind: Kind
        /// What it prevents.
        public let severity: Severity
        /// Where it was found: an adapter, a folder, a program; may be empty.
        public let object: String
        /// The cause, as a part of a sentence.
        public let cause: String
        /// What to do about it, as a sentence.
        public let remedy: String

        package init(_ kind: Kind, _ severity: Severity, _ object: String, cause: String, remedy: String) {
            self.kind = kind
            self.severity = severity
            self.object = object
            self.cause = cause
            self.remedy = remedy
        }

        /// The finding that an operation would fail with this error.
        package init(_ kind: Kind, _ severity: Severity, _ error: BLEError) {
            self.init(kind, severity, error.object, cause: error.cause, remedy: error.remedy)
        }

        /// The same finding, no more severe than given.
        package func downgraded(to severity: Severity) -> Finding {
            Finding(kind, max(severity, self.severity), object, cause: cause, remedy: remedy)
        }
    }

    /// How much a finding matters; ordered from the most severe to the least.
    public enum Severity: Hashable, Sendable, CaseIterable, Comparable {
        /// An operation of the library fails.
        case obstacle
        /// The library works, with less speed, information or reliability.
        case limitation
        /// Nothing is wrong, but it may explain what is observed.
        case note
    }

    /// The kinds of findings.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The system, or the container, has no Bluetooth sockets.
        case noBluetooth
        /// The system doesn't let the program open Bluetooth sockets.
        case socketsRefused
        /// There is no adapter, or not the one that was named.
        case noAdapter
        /// rfkill or a switch on the machine blocks an adapter.
        case blocked
        /// An adapter is switched off.
        case poweredOff
        /// An adapter is starting, has no address yet, or is in use by another program alone.
        case notReady
        /// An adapter's controller doesn't support Bluetooth Low Energy.
        case noLowEnergy
        /// Low Energy is switched off on an adapter that supports it.
        case lowEnergyOff
        /// Two adapters have the same address.
        case sharedAddress
        /// A controller claims to be by another maker.
        case counterfeit
        /// The program lacks a capability.
        case missingCapability
        /// bluetoothd scans for another program.
        case otherScan
        /// The adapter has links, made by any program.
        case openLinks
        /// The kernel has a known fault.
        case kernelFault
        /// The folder for bonds and services can't be used.
        case unusableStore
    }
}

extension Diagnosis.Finding: CustomStringConvertible {
    /// One line: the object, the cause, and the remedy.
    public var description: String {
        let text = (object.isEmpty ? "" : "\(object): ") + cause + "."
        return remedy.isEmpty ? text : "\(text) \(remedy)"
    }
}
