/// Serves a ``RecordedDevice`` to one central at a time: a machine that takes PDUs and times and returns PDUs.
///
/// Each read of an attribute returns the next recorded value, and repeats the last one when they are used up; the
/// outcomes of writes do the same. A notification or indication comes as long after the event that it is measured from
/// as it was recorded. The n-th link repeats the n-th one of the recording, and links after the last one repeat that
/// one.
package struct RecordedServer: Sendable {
    let device: RecordedDevice
    let handles: [UInt16]
    private let configurations: [UInt16: UInt16]
    private let configurationOfValue: [UInt16: UInt16]
    /// The position in the recorded outcomes for the next read and write of an attribute.
    private var reads: [UInt16: Int] = [:]
    private var writes: [UInt16: Int] = [:]
    /// How many links centrals have made.
    package private(set) var linkCount = 0
    private var link = LinkState()

    /// The state while a link is up.
    private struct LinkState: Sendable {
        var mtu = ATTLimits.defaultMTU
        /// The values of configurations.
        var switches: [UInt16: [UInt8]] = [:]
        var writeCounts: [UInt16: Int] = [:]
        var prepared: UInt16?
        /// The values to send, the earliest last.
        var due: [Due] = []
        var dueCount = 0
        /// Of each value, the last one that follows a write to a value.
        var latest: [UInt16: (ordinal: Int, moment: Duration)] = [:]
        var awaitsConfirmation = false
    }

    private struct Due: Sendable {
        let moment: Duration
        /// Values that are due at the same time keep their order.
        let number: Int
        let sending: RecordedDevice.Sending
    }

    package init(_ device: RecordedDevice) {
        self.device = device
        handles = device.handles
        configurations = device.configurations
        configurationOfValue = Dictionary(configurations.map { ($1, $0) }) { first, _ in first }
    }

    /// The link's ATT_MTU.
    var mtu: Int { link.mtu }

    // MARK: - The link

    /// A central has connected.
    package mutating func linkBegan(now: Duration) {
        linkCount += 1
        link = LinkState()
        plan(.linkBegin, now)
    }

    /// When the next value is due; `nil` if there is none, or a confirmation is awaited.
    package var nextDue: Duration? {
        guard let next = link.due.last else { return nil }
        return next.sending.isIndication && link.awaitsConfirmation ? nil : next.moment
    }

    /// The PDUs that are due.
    package mutating func poll(now: Duration) -> [[UInt8]] {
        var pdus: [[UInt8]] = []
        while let moment = nextDue, moment <= now {
            let sending = link.due.removeLast().sending
            guard isSwitchedOn(sending) else { continue }
            let value = sending.value.prefix(mtu - 3)
            if sending.isIndication {
                link.awaitsConfirmation = true
                pdus.append(ATTHandleValueIndication(handle: sending.handle, value: value).encoded)
            } else {
                pdus.append(ATTHandleValueNotification(handle: sending.handle, value: value).encoded)
            }
        }
        return pdus
    }

    /// A device sends what is subscribed to; one that remembered a subscription sends until it is unsubscribed.
    private func isSwitchedOn(_ sending: RecordedDevice.Sending) -> Bool {
        guard let configuration = configurationOfValue[sending.handle] else { return true }
        guard let value = link.switches[configuration] else { return !sending.isSubscribed }
        return (value.first ?? 0) & (sending.isIndication ? 2 : 1) != 0
    }

    private mutating func plan(_ anchor: RecordedDevice.Anchor, _ now: Duration) {
        guard !device.sendings.isEmpty else { return }
        let script = device.sendings[min(linkCount, device.sendings.count) - 1]
        guard let sendings = script[anchor] else { return }
        for sending in sendings {
            var moment = now + sending.delay
            if case .write(let handle, _) = anchor, configurations[handle] == nil {
                // A write that comes sooner after another one than it was recorded overtakes no answer to that.
                let last = link.latest[sending.handle] ?? (-1, moment)
                if last.ordinal < sending.ordinal { moment = max(moment, last.moment) }
                link.latest[sending.handle] = (max(last.ordinal, sending.ordinal), max(last.moment, moment))
            }
            link.due.append(Due(moment: moment, number: link.dueCount, sending: sending))
            link.dueCount += 1
        }
        link.due.sort { ($0.moment, $0.number) > ($1.moment, $1.number) }
    }

    // MARK: - What the central sends

    /// Takes a PDU. Returns the answer, if there is one.
    package mutating func received(_ pdu: [UInt8], now: Duration) -> [UInt8]? {
        guard let opcode = pdu.first.map(ATTOpcode.init) else { return nil }
        let written = RecordedDevice.written(by: pdu, &link.prepared)
        let answer = answer(opcode, pdu, written)
        let isRefused = answer?.first == ATTOpcode.errorResponse.rawValue
        if let written {
            let ordinal = link.writeCounts[written, default: 0]
            link.writeCounts[written] = ordinal + 1
            if configurations[written] != nil, opcode == .writeRequest, !isRefused {
                link.switches[written] = Array(pdu.dropFirst(3))
            }
            plan(.write(written, ordinal: ordinal), now)
        }
        return answer
    }

    private mutating func answer(_ opcode: ATTOpcode, _ pdu: [UInt8], _ written: UInt16?) -> [UInt8]? {
        switch opcode.kind {
        case .command, .response, .notification, .indication: return nil
        case .confirmation:
            link.awaitsConfirmation = false
            return nil
        case .unknown: return refuse(opcode, 0, .requestNotSupported)
        case .request: break
        }
        do {
            switch opcode {
            case .exchangeMTURequest:
                let request = try ATTExchangeMTURequest(decoding: pdu)
                link.mtu = min(max(Int(min(request.clientMTU, device.mtu)), ATTLimits.defaultMTU), ATTLimits.usefulMTU)
                return ATTExchangeMTUResponse(serverMTU: device.mtu).encoded
            case .findInformationRequest: return information(try ATTFindInformationRequest(decoding: pdu))
            case .findByTypeValueRequest: return services(try ATTFindByTypeValueRequest(decoding: pdu))
            case .readByGroupTypeRequest: return groups(try ATTReadByGroupTypeRequest(decoding: pdu))
            case .readByTypeRequest: return typed(try ATTReadByTypeRequest(decoding: pdu))
            case .readRequest: return value(of: try ATTReadRequest(decoding: pdu).handle)
            case .readBlobRequest: return part(try ATTReadBlobRequest(decoding: pdu))
            case .writeRequest: return write(try ATTWriteRequest(decoding: pdu).handle, opcode) ?? [0x13]
            case .prepareWriteRequest:
                // The echo is the request with another opcode.
                let handle = try ATTPrepareWriteRequest(decoding: pdu).handle
                guard device.attributes[handle] != nil else { return refuse(opcode, handle, .invalidHandle) }
                return [ATTOpcode.prepareWriteResponse.rawValue] + pdu.dropFirst()
            case .executeWriteRequest: return written.flatMap { write($0, opcode) } ?? [0x19]
            default: return refuse(opcode, 0, .requestNotSupported)
            }
        } catch {
            return refuse(opcode, 0, .invalidPDU)
        }
    }

    func refuse(_ opcode: ATTOpcode, _ handle: UInt16, _ error: ATTError) -> [UInt8] {
        ATTErrorResponse(request: opcode, handle: handle, error: error).encoded
    }

    // MARK: - Values

    /// The outcome of the next read of an attribute.
    mutating func nextOutcome(of handle: UInt16) -> RecordedDevice.Outcome {
        guard let attribute = device.attributes[handle] else { return .error(.invalidHandle) }
        if let declaration = attribute.declaration { return .value(declaration) }
        if attribute.type == .clientCharacteristicConfiguration { return .value(link.switches[handle] ?? [0, 0]) }
        guard let outcomes = device.reads[handle], !outcomes.isEmpty else { return .error(.readNotPermitted) }
        let place = reads[handle, default: 0]
        reads[handle] = min(place + 1, outcomes.count)
        return outcomes[min(place, outcomes.count - 1)]
    }

    private mutating func value(of handle: UInt16) -> [UInt8] {
        switch nextOutcome(of: handle) {
        case .value(let value): ATTReadResponse(value: value.prefix(mtu - 1)).encoded
        case .error(let error): refuse(.readRequest, handle, error)
        }
    }

    /// The next part of the value that was read last.
    private mutating func part(_ request: ATTReadBlobRequest) -> [UInt8] {
        let outcome: RecordedDevice.Outcome
        if let place = reads[request.handle], place > 0, let outcomes = device.reads[request.handle] {
            outcome = outcomes[min(place, outcomes.count) - 1]
        } else {
            outcome = nextOutcome(of: request.handle)
        }
        switch outcome {
        case .error(let error): return refuse(.readBlobRequest, request.handle, error)
        case .value(let value):
            guard Int(request.offset) <= value.count else {
                return refuse(.readBlobRequest, request.handle, .invalidOffset)
            }
            return ATTReadBlobResponse(part: value.dropFirst(Int(request.offset)).prefix(mtu - 1)).encoded
        }
    }

    /// The refusal of a write; `nil` if it is accepted.
    private mutating func write(_ handle: UInt16, _ opcode: ATTOpcode) -> [UInt8]? {
        guard device.attributes[handle] != nil else { return refuse(opcode, handle, .invalidHandle) }
        guard let outcomes = device.writes[handle], !outcomes.isEmpty else { return nil }
        let place = writes[handle, default: 0]
        writes[handle] = min(place + 1, outcomes.count)
        return outcomes[min(place, outcomes.count - 1)].map { refuse(opcode, handle, $0) }
    }
}
