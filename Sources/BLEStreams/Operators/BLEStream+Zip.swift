extension BLEStream {
    /// Pairs of the elements of this stream and another one: the first with the first, the second with the second.
    ///
    /// ```swift
    /// for try await (beat, second) in link.notifications(of: .heartRateMeasurement)
    ///     .zip(with: .interval(.seconds(1)))
    /// {
    ///     print(second, beat.beatsPerMinute)
    /// }
    /// ```
    ///
    /// The faster of the two isn't polled while it waits for the slower one: its elements wait in its own buffer, whose
    /// policy applies. If that drops values, later ones are paired; ``withGaps()`` shows where. ``counters`` are the
    /// sum of both.
    ///
    /// - End: when one of the two has ended and no element of it is left.
    /// - Throw: the first error of either; it ends both. ``BLEError/receivedParts`` has the part of a message of each.
    /// - Cancellation and an early `break` close both at once.
    public func zip<Other: Sendable>(with other: BLEStream<Other>) -> BLEStream<(Element, Other)> {
        paired(with: other, "zip") { first, second in
            var (first, second) = (PairedUpstream(first), PairedUpstream(second))
            return {
                do {
                    if first.element == nil, case .gap(let gap) = try first.advance() { return .gap(gap) }
                } catch {
                    throw second.completing(error)
                }
                do {
                    if second.element == nil, case .gap(let gap) = try second.advance() { return .gap(gap) }
                } catch {
                    throw first.completing(error)
                }
                if first.isFruitless || second.isFruitless { return .end }
                guard let one = first.element, let other = second.element else { return .pending }
                (first.element, second.element) = (nil, nil)
                return .element((one, other))
            }
        }
    }
}
