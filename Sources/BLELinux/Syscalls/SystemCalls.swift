internal import BLEProtocol

/// The system calls of this module, for a test that replaces the kernel.
///
/// Each returns what the kernel itself would, rather than what libc makes of it: the result, or a negated error number.
/// So no `errno` can be lost on the way.
protocol SystemCalls: AnyObject, Sendable {
    // Descriptors.
    func close(_ descriptor: Int32)
    func open(_ path: String, _ flags: Int32) -> Int32
    func read(_ descriptor: Int32, into octets: UnsafeMutableRawBufferPointer) -> Int
    func makeEventCounter() -> Int32
    func signal(_ descriptor: Int32)
    func clearSignals(_ descriptor: Int32)

    // Readiness.
    func makeReadinessSet() -> Int32
    func control(
        _ set: Int32,
        _ operation: Int32,
        _ descriptor: Int32,
        _ interest: Readiness,
        _ token: UInt64
    ) -> Int32
    func wait(_ set: Int32, isLook: Bool, into ready: inout [(token: UInt64, readiness: Readiness)]) -> Int32
    func readiness(_ descriptor: Int32, _ interest: Readiness) -> Readiness

    // Sockets; addresses and options are octets, in the kernel's form.
    func makeSocket(_ domain: Int32, _ type: Int32, _ kind: Int32) -> Int32
    func bind(_ descriptor: Int32, to address: UnsafeRawBufferPointer) -> Int32
    func connect(_ descriptor: Int32, to address: UnsafeRawBufferPointer) -> Int32
    func listen(_ descriptor: Int32, backlog: Int32) -> Int32
    func accept(_ descriptor: Int32, from address: UnsafeMutableRawBufferPointer) -> Int32
    func ownAddress(_ descriptor: Int32, into address: UnsafeMutableRawBufferPointer) -> Int32
    func peerAddress(_ descriptor: Int32, into address: UnsafeMutableRawBufferPointer) -> Int32
    func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: UnsafeRawBufferPointer) -> Int32
    func option(_ descriptor: Int32, _ level: Int32, _ name: Int32, into value: UnsafeMutableRawBufferPointer) -> Int32
    func dropped(_ descriptor: Int32) -> Int64
    func send(_ descriptor: Int32, _ octets: [UInt8]) -> Int
    func receive(_ descriptor: Int32, _ datagrams: inout [ReceivedDatagram]) -> Int32

    // Adapters.
    func listAdapters(_ descriptor: Int32, into numbers: inout [UInt16]) -> Int32
    func readAdapter(_ descriptor: Int32, _ facts: inout AdapterFacts) -> Int32
    func closeAdapter(_ descriptor: Int32, _ number: UInt16) -> Int32
    func isConnected(_ descriptor: Int32, _ adapter: UInt16, _ peer: BluetoothAddress) -> Int32
    func listPeers(
        _ descriptor: Int32,
        _ adapter: UInt16,
        asCentral isCentral: Bool,
        into peers: inout [BluetoothAddress]
    ) -> Int32
    func listAttempts(_ descriptor: Int32, _ adapter: UInt16, into peers: inout [BluetoothAddress]) -> Int32
    func listHandles(_ descriptor: Int32, _ adapter: UInt16, into handles: inout [UInt16]) -> Int32
    func openRawHCI(_ adapter: UInt16) -> Int32
    func sendCommand(_ descriptor: Int32, _ opcode: UInt16, _ parameters: [UInt8]) -> Int32
    func filterScanning(_ descriptor: Int32) -> Int32
    func filterLinks(_ descriptor: Int32) -> Int32
    func resetUSBDevice(_ descriptor: Int32) -> Int32

    // Files, threads and the system.
    func destination(ofLink path: String) -> String?
    func names(inFolder path: String) -> [String]
    func makeOwnFolder(_ path: String) -> Int32
    func makeLink(to text: String, at path: String) -> Int32
    func removeName(_ path: String) -> Int32
    func startThread(named name: String, _ body: @escaping @Sendable () -> Void) -> Int32
    var release: String { get }
}

/// A datagram, and what a kernel reports about it.
struct ReceivedDatagram {
    var octets: [UInt8]
    /// How many the socket has dropped by then; `nil` if the kernel doesn't say.
    var dropped: UInt32?
    /// When it was received, since 1970; `nil` if the kernel doesn't say.
    var time: (seconds: Int64, nanoseconds: Int64)?
}

/// The kernel whose system calls are made: this machine's, unless a test replaces it.
///
/// Each descriptor knows its kernel, so that radios on different kernels don't mix.
package struct Kernel: Sendable {
    /// The replacement in a test; `nil` in every program.
    let substitute: (any SystemCalls)?

    /// The kernel that this program runs on.
    package static let ofThisMachine = Kernel(substitute: nil)

    /// Makes a call that fails as libc's do, or its replacement; a call that a signal interrupts is repeated.
    @inline(__always)
    @discardableResult
    func call<Value: SignedInteger>(
        _ own: () -> Value,
        orOf instead: (any SystemCalls) -> Value
    ) throws(SystemError) -> Value {
        guard let substitute else { return try systemCall(own) }
        while true {
            let value = instead(substitute)
            if value >= 0 { return value }
            let error = SystemError(rawValue: Int32(-value))
            if error != .interrupted { throw error }
        }
    }
}
