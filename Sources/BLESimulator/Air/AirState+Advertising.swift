internal import BLEProtocol
internal import BLERadio

/// An advertisement that was started and hasn't ended.
struct Advertisement: Sendable {
    let activity: ActivityID
    let request: AdvertiseRequest

    /// Whether its next event stands in the agenda. It does only while somebody could hear it.
    var isScheduled = false
}

extension AirState {
    /// What the specification adds to each advertising interval, at most (Vol 6, Part B, 4.4.2.2).
    static let advertisingDelay = Duration.milliseconds(10)

    mutating func startAdvertisement(
        _ request: AdvertiseRequest,
        on adapter: AdapterID,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> ActivityID {
        let id = add(.advertise(request, events), on: adapter)
        if let error = unavailable(adapter, for: "advertise") ?? tooLong(request, on: adapter) {
            fail(id, error)
        } else {
            adapters[adapter].advertisements.append(Advertisement(activity: id, request: request))
            outbox.append(.advertise(id, .started))
            wakeAdvertisements(of: adapter)
        }
        return id
    }

    /// What a controller without extended advertising says to more than there is room for.
    private func tooLong(_ request: AdvertiseRequest, on adapter: AdapterID) -> BLEError? {
        let limit = AdvertisingData.legacyLimit
        let parts = [("advertising data", request.data), ("scan response", request.scanResponse)]
        guard let (part, data) = parts.first(where: { $0.1.bytes.count > limit }) else { return nil }
        let count = data.bytes.count
        return BLEError(
            .overflow,
            operation: "advertise",
            object: adapters[adapter].name,
            cause: "the \(part) has \(count) octets, and a simulated adapter takes \(limit) octets at most",
            remedy: "Advertise \(count - limit) octets less: a shorter name, or fewer services."
        )
    }

    /// Schedules the next events of advertisements that somebody could hear now.
    mutating func wakeAdvertisements(of adapter: AdapterID) {
        for index in adapters[adapter].advertisements.indices {
            let advertisement = adapters[adapter].advertisements[index]
            guard !advertisement.isScheduled, isWanted(advertisement, of: adapter) else { continue }
            adapters[adapter].advertisements[index].isScheduled = true
            let interval = adapters[adapter].settings.advertisingInterval
            schedule(.advertise(advertisement.activity), at: now + randomDuration(below: interval))
        }
    }

    mutating func runAdvertisingEvent(_ id: ActivityID) {
        guard let adapter = activities[id]?.adapter,
            let index = adapters[adapter].advertisements.firstIndex(where: { $0.activity == id })
        else { return }
        adapters[adapter].advertisements[index].isScheduled = false
        let advertisement = adapters[adapter].advertisements[index]
        guard isWanted(advertisement, of: adapter) else { return }
        hear(advertisement.request, from: adapter)
        if advertisement.request.isConnectable { answerAttempts(to: adapter) }
        guard isWanted(advertisement, of: adapter) else { return }
        adapters[adapter].advertisements[index].isScheduled = true
        let interval = adapters[adapter].settings.advertisingInterval
        schedule(.advertise(id), at: now + interval + randomDuration(below: Self.advertisingDelay))
    }

    /// Whether an advertisement is on air and somebody listens, be it in vain.
    ///
    /// As on Linux, a connectable one is off the air while as many centrals are connected as the controller can have, or its
    /// links in the other role keep it from having any, and comes back by itself.
    private func isWanted(_ advertisement: Advertisement, of adapter: AdapterID) -> Bool {
        if advertisement.request.isConnectable {
            guard adapters[adapter].peripheralLinkCount < adapters[adapter].settings.maximumCentrals,
                mayBePeripheral(adapter)
            else { return false }
            if names(of: adapter).contains(where: { attempts[$0] != nil }) { return true }
        }
        return scans.contains { $0.adapter != adapter }
    }
}
