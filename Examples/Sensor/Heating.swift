/// A room whose temperature rises by half a degree at each step, up to the target.
actor Heating {
    private(set) var temperature = 20.0
    private var target = 20.0

    func heat(to target: Double) { self.target = target }

    func step() -> Double {
        temperature += min(max(target - temperature, -0.5), 0.5)
        return temperature
    }
}
