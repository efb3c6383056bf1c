import Leases

// What must always be so, and what is measured.

extension LeaseWorld {
    func noteAcquire(_ sensor: Int, _ epoch: Epoch, _ number: Int) {
        log("gateway \(number), sensor \(sensor): ACTS by epoch \(epoch.number)")
        guard let pair = map.pair(sensor, number) else { return }
        checkAlone(sensor, number)
        checkEpoch(sensor, epoch, number, pair)
        let before = lastOwners[sensor]
        if owners[sensor] < 0 {
            let gap = now - endedAt[sensor]
            if before < 0 {
                measures.firsts += 1
            } else if before == Int32(number) {
                measures.pauses.append(gap)
            } else {
                measures.takeOvers.append(gap)
            }
        } else if owners[sensor] != Int32(number) {
            measures.takeOvers.append(0)
        }
        owners[sensor] = Int32(number)
        lastOwners[sensor] = Int32(number)
        if before >= 0, before != Int32(number), now > plan.calm + plan.bound { measures.calmChanges += 1 }
    }

    func noteRelease(_ sensor: Int, _ number: Int) {
        guard owners[sensor] == Int32(number) else { return }
        log("gateway \(number), sensor \(sensor): stops")
        owners[sensor] = -1
        endedAt[sensor] = now
    }

    /// No other gateway believes that it may act, whatever its clock shows.
    private func checkAlone(_ sensor: Int, _ number: Int) {
        let id = PeripheralID(rawValue: UInt64(sensor))
        for pair in map.range(of: sensor) where map.gateway[pair] != Int32(number) {
            let other = Int(map.gateway[pair])
            let local = gateways[other].local(now)
            guard let epoch = gateways[other].machine?.epoch(of: id, at: local) else { continue }
            report(
                .twoOwners,
                sensor: sensor,
                "gateway \(number) acts on sensor \(sensor), and gateway \(other) still does, by epoch \(epoch.number)"
            )
        }
    }

    private func checkEpoch(_ sensor: Int, _ epoch: Epoch, _ number: Int, _ pair: Int) {
        let session = broker.sessions[number]?.id.rawValue ?? 0
        let isSame = tenureSessions[pair] == session && epoch.number == tenureNumbers[pair]
        if epoch.number < tenureNumbers[pair] || (epoch.number == tenureNumbers[pair] && !isSame && session != 0) {
            report(
                .reusedEpoch,
                sensor: sensor,
                "gateway \(number) acts on sensor \(sensor) by epoch \(epoch.number) after \(tenureNumbers[pair])"
            )
        }
        tenureNumbers[pair] = max(tenureNumbers[pair], epoch.number)
        tenureSessions[pair] = session
        guard epoch < highest[sensor] else {
            highest[sensor] = epoch
            lossesAtHighest[sensor] = broker.losses
            return
        }
        if lossesAtHighest[sensor] != broker.losses, !isRemembered(sensor, but: number) {
            measures.forgotten += 1
        } else {
            let text = "by epoch \(epoch.number) of gateway \(number) after \(highest[sensor].number)"
            report(.lowerEpoch, sensor: sensor, "sensor \(sensor) is acted on \(text)")
        }
    }

    /// Whether a gateway that has been in touch with the broker for a while knows the highest epoch.
    private func isRemembered(_ sensor: Int, but number: Int) -> Bool {
        let id = PeripheralID(rawValue: UInt64(sensor))
        return map.range(of: sensor).contains { pair in
            let gateway = gateways[Int(map.gateway[pair])]
            guard let known = gateway.machine?.knownEpoch(of: id), known >= highest[sensor] else { return false }
            if Int(map.gateway[pair]) == number { return true }
            return gateway.isConnected && broker.isSubscribed[pair] && gateway.connectedAt + 30_000 < now
                && gateway.troubledAt + 30_000 < now
        }
    }

    /// What a gateway claims is reserved on its disk, and is above what was there when it started.
    func checkClaim(_ publication: LeaseEffects.Publication, _ number: Int) {
        guard case .record(let record) = publication.message, !record.isReleased else { return }
        let claimed = record.epoch.number
        let (disk, restored) = (gateways[number].disk, gateways[number].restored)
        guard claimed > disk || claimed <= restored else { return }
        report(
            .unreserved,
            sensor: Int(publication.peripheral.rawValue),
            "gateway \(number) claims epoch \(claimed), but its disk has \(disk), and \(restored) before"
        )
    }

    /// Long after the last fault, every sensor that a gateway hears has an owner; and no gateway knows too much.
    func checkOwners() {
        for sensor in owners.indices {
            let id = PeripheralID(rawValue: UInt64(sensor))
            var isAudible = false
            var acting = 0
            for pair in map.range(of: sensor) {
                let gateway = gateways[Int(map.gateway[pair])]
                guard let machine = gateway.machine else { continue }
                if gateway.isConnected, isHeard(pair) { isAudible = true }
                if machine.epoch(of: id, at: gateway.local(now)) != nil { acting += 1 }
            }
            if acting > 1 { report(.twoOwners, sensor: sensor, "\(acting) gateways act on sensor \(sensor)") }
            if isAudible, acting == 0, owners[sensor] >= 0 || now - endedAt[sensor] > plan.handover {
                report(.noOwner, sensor: sensor, "nobody acts on sensor \(sensor), long after the last fault")
            }
        }
        for (number, gateway) in gateways.enumerated() {
            guard let machine = gateway.machine else { continue }
            let pairs = map.pairs[number].count
            if machine.peripherals > min(pairs, plan.terms.capacity) || machine.watchedGateways > 24 {
                report(.memory, sensor: -1, "gateway \(number) knows \(machine.peripherals) peripherals of \(pairs)")
            }
        }
    }
}
