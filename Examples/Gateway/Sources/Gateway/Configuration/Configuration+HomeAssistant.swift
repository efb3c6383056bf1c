extension Configuration {
    /// What to say of labels that are the same to Home Assistant, which takes only some characters in names: what is
    /// announced of one of the peripherals would take the place of what was announced of the other.
    func cautionsOfAlikeLabels() -> [ConfigurationError] {
        guard homeAssistantPrefix != nil else { return [] }
        var (cautions, places): ([ConfigurationError], [String: Int]) = ([], [:])
        for (index, peripheral) in peripherals.enumerated() {
            let identifier = HomeAssistant.identifier(peripheral.label)
            guard let former = places.updateValue(index, forKey: identifier) else { continue }
            cautions.append(
                ConfigurationError(
                    field: "peripherals[\(index)].label",
                    cause: "Home Assistant can't tell '\(peripheral.label)' from '\(peripherals[former].label)', and "
                        + "shows the values of one of the two only",
                    remedy: "Write labels that differ in letters or digits."
                )
            )
        }
        return cautions
    }
}
