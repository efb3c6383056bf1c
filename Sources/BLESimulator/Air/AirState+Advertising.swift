internal import BLEProtocol
internal import BLERadio

/// An advertisement that was started and hasn't ended.
struct Advertisement: Sendable {
    let activity: ActivityID
    /// Whether centrals may connect.
    var isConnectable: Bool
    /// Where the fields are on air.
    var layout: AdvertisingLayout
    /// Whether scanners receive it; centrals can connect even if it is not received.
    var isHeard = true

    /// Whether its next event is in the agenda. It is only there while somebody could receive it.
    var isScheduled = false
}

extension AirState {
    /// The longest random delay that the specification adds to each advertising interval (Vol 6, Part B, 4.4.2.2).
    static let advertisingDelay = Duration.milliseconds(10)

    mutating func startAdvertisement(
        _ request: AdvertiseRequest,
        on adapter: AdapterID,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> ActivityID {
        let id = add(.advertise(request, events), on: adapter)
        if let error = unavailable(adapter, for: "advertise") {
            fail(id, error)
            return id
        }
        if let error = silence("Add Advertising", of: adapter, for: "advertise") {
            fail(id, error)
            return id
        }
        do throws(AdvertisingFault) {
            let advertisement = Advertisement(
                activity: id,
                isConnectable: request.isConnectable,
                // As a controller without extended advertising would.
                layout: try request.layout()
            )
            // As on Linux: one that has begun is only off the air meanwhile.
            guard !request.isConnectable || mayBePeripheral(adapter) else {
                let peers = peers(of: adapter, as: .central)
                fail(id, .advertisementBesideLink(to: peers, adapters[adapter].name))
                return id
            }
            adapters[adapter].advertisements.append(advertisement)
            outbox.append(.advertise(id, .started))
            wakeAdvertisements(of: adapter)
        } catch {
            fail(id, error.error(on: adapters[adapter].name))
        }
        return id
    }

    /// Changes the content of an advertisement from its next event on.
    mutating func changeAdvertisement(
        _ id: ActivityID,
        to request: AdvertiseRequest,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        let outcome = changeAdvertisement(id, to: request)
        outbox.append(.done { result(outcome) })
    }

    private mutating func changeAdvertisement(_ id: ActivityID, to request: AdvertiseRequest) -> Result<Void, BLEError>
    {
        guard let adapter = activities[id]?.adapter,
            let index = adapters[adapter].advertisements.firstIndex(where: { $0.activity == id })
        else {
            return .failure(BLEError(.ended, operation: "advertise", cause: "it no longer advertises"))
        }
        if let error = silence("Add Advertising", of: adapter, for: "advertise") { return .failure(error) }
        do throws(AdvertisingFault) {
            let layout = try request.layout()
            adapters[adapter].advertisements[index].layout = layout
            adapters[adapter].advertisements[index].isConnectable = request.isConnectable
            wakeAdvertisements(of: adapter)
            return .success(())
        } catch {
            return .failure(error.error(on: adapters[adapter].name))
        }
    }

    /// Schedules the next events of the advertisements that somebody could receive now.
    mutating func wakeAdvertisements(of adapter: AdapterID) {
        for index in adapters[adapter].advertisements.indices {
            let advertisement = adapters[adapter].advertisements[index]
            guard !advertisement.isScheduled, isWanted(advertisement, of: adapter) else { continue }
            adapters[adapter].advertisements[index].isScheduled = true
            schedule(
                .advertise(advertisement.activity),
                at: now + randomDuration(below: interval(of: advertisement, on: adapter))
            )
        }
    }

    mutating func runAdvertisingEvent(_ id: ActivityID) {
        guard let adapter = activities[id]?.adapter,
            let index = adapters[adapter].advertisements.firstIndex(where: { $0.activity == id })
        else { return }
        adapters[adapter].advertisements[index].isScheduled = false
        let advertisement = adapters[adapter].advertisements[index]
        guard isWanted(advertisement, of: adapter) else { return }
        if advertisement.isHeard { hear(advertisement, from: adapter) }
        if advertisement.isConnectable { answerAttempts(to: adapter) }
        guard isWanted(advertisement, of: adapter) else { return }
        adapters[adapter].advertisements[index].isScheduled = true
        let interval = interval(of: advertisement, on: adapter)
        schedule(.advertise(id), at: now + interval + randomDuration(below: Self.advertisingDelay))
    }

    /// The shortest requested interval, as an otherwise idle controller uses.
    private func interval(of advertisement: Advertisement, on adapter: AdapterID) -> Duration {
        advertisement.layout.interval.map { .microseconds(625 * Int64($0.lowerBound)) }
            ?? adapters[adapter].settings.advertisingInterval
    }

    /// Whether an advertisement is on air and somebody listens, even if out of range.
    ///
    /// As on Linux, a connectable one is off the air while the controller has all the centrals it can have, or while
    /// its links as central exclude the peripheral role; it resumes automatically.
    private func isWanted(_ advertisement: Advertisement, of adapter: AdapterID) -> Bool {
        if adapters[adapter].isHung { return false }
        if advertisement.isConnectable {
            guard adapters[adapter].peripheralLinkCount < adapters[adapter].settings.maximumCentrals,
                mayBePeripheral(adapter)
            else { return false }
            if names(of: adapter).contains(where: { attempts[$0] != nil }) { return true }
        }
        return advertisement.isHeard && scans.contains { $0.adapter != adapter }
    }
}
