extension BLEStream {
    /// The latest elements of this stream and another one, whenever either has a new one, once both have had one.
    ///
    /// For values that belong together, such as temperature and humidity:
    ///
    /// ```swift
    /// let temperatures = link.notifications(of: BluetoothUUID.Characteristics.temperature)
    /// let humidities = link.notifications(of: BluetoothUUID.Characteristics.humidity)
    /// for try await (temperature, humidity) in temperatures.combineLatest(with: humidities) {
    ///     print(temperature.hex, humidity.hex)
    /// }
    /// ```
    ///
    /// If both have several elements waiting, they take turns. ``counters`` are the sum of both.
    ///
    /// - End: when both have ended, or one has ended without an element.
    /// - Throw: the first error of either; it ends both, and comes after the pairs made of what the other one has
    ///   already received. ``BLEError/receivedParts`` has the part of a message of each.
    /// - Cancellation and an early `break` close both at once.
    public func combineLatest<Other: Sendable>(with other: BLEStream<Other>) -> BLEStream<(Element, Other)> {
        paired(with: other, "combineLatest") { first, second in
            var (first, second) = (PairedUpstream(first), PairedUpstream(second))
            var isSecondsTurn = true
            // The first error, thrown behind what waits.
            var failure = FirstFailure()
            func end() throws -> Polled<(Element, Other)> {
                failure.add(first.lostPart)
                failure.add(second.lostPart)
                if let failure = failure.thrown { throw failure }
                return .end
            }
            return {
                // Until neither has anything, in turns.
                var idle = 0
                while idle < 2 {
                    isSecondsTurn.toggle()
                    do {
                        switch try isSecondsTurn ? second.advance() : first.advance() {
                        case .came:
                            if let one = first.element, let other = second.element { return .element((one, other)) }
                            idle = 0
                        case .gap(let gap): return .gap(gap)
                        case .nothing: idle += 1
                        }
                    } catch {
                        failure.add(error)
                        if isSecondsTurn {
                            second.fail()
                            first.cursor.stop()
                        } else {
                            first.fail()
                            second.cursor.stop()
                        }
                        idle = 0
                    }
                    if first.isFruitless || second.isFruitless { return try end() }
                    // One of them may never deliver anything, and the other never pause.
                    if Task.isCancelled { return .pending }
                }
                // After an error, too, the other one has an end: one that shares its source may yet be given what has
                // come.
                return try first.isOver && second.isOver ? end() : .pending
            }
        }
    }
}
