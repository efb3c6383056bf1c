extension AssignedNames {
    /// Services, characteristics and descriptors that are met less often.
    ///
    /// Written by Tests/AssignedNames/generate, from bleak's table.
    static let moreCharacteristics = """
        183D Authorization Control
        183F Elapsed Time
        1840 Generic Health Sensor
        2700 unitless
        2701 length (metre)
        2702 mass (kilogram)
        2703 time (second)
        2704 electric current (ampere)
        2705 thermodynamic temperature (kelvin)
        2706 amount of substance (mole)
        2707 luminous intensity (candela)
        2710 area (square metres)
        2711 volume (cubic metres)
        2712 velocity (metres per second)
        2713 acceleration (metres per second squared)
        2714 wavenumber (reciprocal metre)
        2715 density (kilogram per cubic metre)
        2716 surface density (kilogram per square metre)
        2717 specific volume (cubic metre per kilogram)
        2718 current density (ampere per square metre)
        2719 magnetic field strength (ampere per metre)
        271A amount concentration (mole per cubic metre)
        271B mass concentration (kilogram per cubic metre)
        271C luminance (candela per square metre)
        271D refractive index
        271E relative permeability
        2720 plane angle (radian)
        2721 solid angle (steradian)
        2722 frequency (hertz)
        2723 force (newton)
        2724 pressure (pascal)
        2725 energy (joule)
        2726 power (watt)
        2727 electric charge (coulomb)
        2728 electric potential difference (volt)
        2729 capacitance (farad)
        272A electric resistance (ohm)
        272B electric conductance (siemens)
        272C magnetic flux (weber)
        272D magnetic flux density (tesla)
        272E inductance (henry)
        272F Celsius temperature (degree Celsius)
        2730 luminous flux (lumen)
        2731 illuminance (lux)
        2732 activity referred to a radionuclide (becquerel)
        2733 absorbed dose (gray)
        2734 dose equivalent (sievert)
        2735 catalytic activity (katal)
        2740 dynamic viscosity (pascal second)
        2741 moment of force (newton metre)
        2742 surface tension (newton per metre)
        2743 angular velocity (radian per second)
        2744 angular acceleration (radian per second squared)
        2745 heat flux density (watt per square metre)
        2746 heat capacity (joule per kelvin)
        2747 specific heat capacity (joule per kilogram kelvin)
        2748 specific energy (joule per kilogram)
        2749 thermal conductivity (watt per metre kelvin)
        274A energy density (joule per cubic metre)
        274B electric field strength (volt per metre)
        274C electric charge density (coulomb per cubic metre)
        274D surface charge density (coulomb per square metre)
        274E electric flux density (coulomb per square metre)
        274F permittivity (farad per metre)
        2750 permeability (henry per metre)
        2751 molar energy (joule per mole)
        2752 molar entropy (joule per mole kelvin)
        2753 exposure (coulomb per kilogram)
        2754 absorbed dose rate (gray per second)
        2755 radiant intensity (watt per steradian)
        2756 radiance (watt per square metre steradian)
        2757 catalytic activity concentration (katal per cubic metre)
        2760 time (minute)
        2761 time (hour)
        2762 time (day)
        2763 plane angle (degree)
        2764 plane angle (minute)
        2765 plane angle (second)
        2766 area (hectare)
        2767 volume (litre)
        2768 mass (tonne)
        2780 pressure (bar)
        2781 pressure (millimetre of mercury)
        2782 length (ångström)
        2783 length (nautical mile)
        2784 area (barn)
        2785 velocity (knot)
        2786 logarithmic radio quantity (neper)
        2787 logarithmic radio quantity (bel)
        27A0 length (yard)
        27A1 length (parsec)
        27A2 length (inch)
        27A3 length (foot)
        27A4 length (mile)
        27A5 pressure (pound-force per square inch)
        27A6 velocity (kilometre per hour)
        27A7 velocity (mile per hour)
        27A8 angular velocity (revolution per minute)
        27A9 energy (gram calorie)
        27AA energy (kilogram calorie)
        27AB energy (kilowatt hour)
        27AC thermodynamic temperature (degree Fahrenheit)
        27AD percentage
        27AE per mille
        27AF period (beats per minute)
        27B0 electric charge (ampere hours)
        27B1 mass density (milligram per decilitre)
        27B2 mass density (millimole per litre)
        27B3 time (year)
        27B4 time (month)
        27B5 concentration (count per cubic metre)
        27B6 irradiance (watt per square metre)
        27B7 milliliter (per kilogram per minute)
        27B8 mass (pound)
        27B9 metabolic equivalent
        27BA step (per minute)
        27BC stroke (per minute)
        27BD pace (kilometre per minute)
        27BE luminous efficacy (lumen per watt)
        27BF luminous energy (lumen hour)
        27C0 luminous exposure (lux hour)
        27C1 mass flow (gram per second)
        27C2 volume flow (litre per second)
        27C3 sound pressure (decible)
        27C4 parts per million
        27C5 parts per billion
        2A0B Exact Time 100
        2A10 Secondary Time Zone
        2A15 Time Broadcast
        2A1A Battery Power State
        2A1B Battery Level State
        2A1F Temperature Celsius
        2A20 Temperature Fahrenheit
        2A2F Position 2D
        2A30 Position 3D
        2A3A Removable
        2A3B Service Required
        2A3C Scientific Temperature Celsius
        2A3D String
        2A3E Network Availability
        2A57 Digital Output
        2A59 Analog Output
        2A62 Pulse Oximetry Control Point
        2A7C Trend
        2AE0 Average Current
        2AE1 Average Voltage
        2AE2 Boolean
        2AE3 Chromatic Distance From Planckian
        2AE4 Chromaticity Coordinates
        2AE5 Chromaticity In CCT And Duv Values
        2AE6 Chromaticity Tolerance
        2AE7 CIE 13.3-1995 Color Rendering Index
        2AE8 Coefficient
        2AE9 Correlated Color Temperature
        2AEB Count 24
        2AEF Electric Current Range
        2AF0 Electric Current Specification
        2AF1 Electric Current Statistics
        2AF3 Energy In A Period Of Day
        2AF4 Event Statistics
        2AF5 Fixed String 16
        2AF6 Fixed String 24
        2AF7 Fixed String 36
        2AF8 Fixed String 8
        2AFA Global Trade Item Number
        2AFC Luminous Efficacy
        2AFD Luminous Energy
        2AFE Luminous Exposure
        2B00 Luminous Flux Range
        2B01 Luminous Intensity
        2B02 Mass Flow
        2B03 Perceived Lightness
        2B06 Power Specification
        2B07 Relative Runtime In A Current Range
        2B08 Relative Runtime In A Generic Level Range
        2B09 Relative Value In A Voltage Range
        2B0A Relative Value In An Illuminance Range
        2B0B Relative Value In A Period of Day
        2B0C Relative Value In A Temperature Range
        2B0E Temperature 8 In A Period Of Day
        2B0F Temperature 8 Statistics
        2B10 Temperature Range
        2B11 Temperature Statistics
        2B12 Time Decihour 8
        2B13 Time Exponential 8
        2B14 Time Hour 24
        2B15 Time Millisecond 24
        2B16 Time Second 16
        2B17 Time Second 8
        2B19 Voltage Specification
        2B1A Voltage Statistics
        2B1B Volume Flow
        2B1C Chromaticity Coordinate
        2B20 IDD Status Changed
        2B21 IDD Status
        2B22 IDD Annunciation Status
        2B23 IDD Features
        2B24 IDD Status Reader Control Point
        2B25 IDD Command Control Point
        2B26 IDD Command Data
        2B27 IDD Record Access Control Point
        2B28 IDD History Data
        2B2B BSS Control Point
        2B2C BSS Response
        2B2D Emergency ID
        2B2E Emergency Text
        2B2F ACS Status
        2B30 ACS Data In
        2B31 ACS Data Out Notify
        2B32 ACS Data Out Indicate
        2B33 ACS Control Point
        2B37 Registered User
        2B38 BR-EDR Handover Data
        2B39 Bluetooth SIG Data
        2B3B Physical Activity Monitor Features
        2B3C General Activity Instantaneous Data
        2B3D General Activity Summary Data
        2B3E CardioRespiratory Activity Instantaneous Data
        2B3F CardioRespiratory Activity Summary Data
        2B40 Step Counter Activity Summary Data
        2B41 Sleep Activity Instantaneous Data
        2B42 Sleep Activity Summary Data
        2B43 Physical Activity Monitor Control Point
        2B44 Physical Activity Current Session
        2B45 Physical Activity Session Descriptor
        2B47 High Resolution Height
        2B48 Middle Name
        2B49 Stride Length
        2B4A Handedness
        2B4B Device Wearing Position
        2B4C Four Zone Heart Rate Limits
        2B4D High Intensity Exercise Threshold
        2B4E Activity Goal
        2B4F Sedentary Interval Notification
        2B50 Caloric Intake
        2B51 TMAP Role
        2B77 Audio Input State
        2B78 Gain Settings Attribute
        2B79 Audio Input Type
        2B7A Audio Input Status
        2B7B Audio Input Control Point
        2B7C Audio Input Description
        2B7D Volume State
        2B7E Volume Control Point
        2B7F Volume Flags
        2B80 Volume Offset State
        2B81 Audio Location
        2B82 Volume Offset Control Point
        2B83 Audio Output Description
        2B84 Set Identity Resolving Key
        2B85 Coordinated Set Size
        2B86 Set Member Lock
        2B87 Set Member Rank
        2B88 Encrypted Data Key Material
        2B89 Apparent Energy 32
        2B8A Apparent Power
        2B8B Live Health Observations
        2B8D Cosine of the Angle
        2B8E Device Time Feature
        2B8F Device Time Parameters
        2B90 Device Time
        2B91 Device Time Control Point
        2B92 Time Change Log Data
        2B93 Media Player Name
        2B94 Media Player Icon Object ID
        2B95 Media Player Icon URL
        2B96 Track Changed
        2B97 Track Title
        2B98 Track Duration
        2B99 Track Position
        2B9A Playback Speed
        2B9B Seeking Speed
        2B9C Current Track Segments Object ID
        2B9D Current Track Object ID
        2B9E Next Track Object ID
        2B9F Parent Group Object ID
        2BA0 Current Group Object ID
        2BA1 Playing Order
        2BA2 Playing Orders Supported
        2BA3 Media State
        2BA4 Media Control Point
        2BA5 Media Control Point Opcodes Supported
        2BA6 Search Results Object ID
        2BA7 Search Control Point
        2BA8 Energy 32
        2BA9 Media Player Icon Object Type
        2BAA Track Segments Object Type
        2BAB Track Object Type
        2BAC Group Object Type
        2BAD Constant Tone Extension Enable
        2BAE Advertising Constant Tone Extension Minimum Length
        2BAF Advertising Constant Tone Extension Minimum Transmit Count
        2BB0 Advertising Constant Tone Extension Transmit Duration
        2BB1 Advertising Constant Tone Extension Interval
        2BB2 Advertising Constant Tone Extension PHY
        2BB3 Bearer Provider Name
        2BB4 Bearer UCI
        2BB5 Bearer Technology
        2BB6 Bearer URI Schemes Supported List
        2BB7 Bearer Signal Strength
        2BB8 Bearer Signal Strength Reporting Interval
        2BB9 Bearer List Current Calls
        2BBA Content Control ID
        2BBB Status Flags
        2BBC Incoming Call Target Bearer URI
        2BBD Call State
        2BBE Call Control Point
        2BBF Call Control Point Optional Opcodes
        2BC0 Termination Reason
        2BC1 Incoming Call
        2BC2 Call Friendly Name
        2BC3 Mute
        2BC4 Sink ASE
        2BC5 Source ASE
        2BC6 ASE Control Point
        2BC7 Broadcast Audio Scan Control Point
        2BC8 Broadcast Receive State
        2BC9 Sink PAC
        2BCA Sink Audio Locations
        2BCB Source PAC
        2BCC Source Audio Locations
        2BCD Available Audio Contexts
        2BCE Supported Audio Contexts
        2BDA Hearing Aid Features
        2BDB Hearing Aid Preset Control Point
        2BDC Active Preset Index
        2BDD Stored Health Observations
        2BDE Fixed String 64
        2BDF High Temperature
        2BE0 High Voltage
        2BE1 Light Distribution
        2BE2 Light Output
        2BE3 Light Source Type
        2BE4 Noise
        2BE5 Relative Runtime in a Correlated Color Temperature Range
        2BE6 Time Second 32
        2BE7 VOC Concentration
        2BE8 Voltage Frequency
        2BF1 Observation Schedule Changed
        2BF2 Current Elapsed Time
        2BF3 Health Sensor Features
        2BF4 GHS Control Point
        2BF5 LE GATT Security Levels
        2BF6 ESL Address
        2BF7 AP Sync Key Material
        2BF8 ESL Response Key Material
        2BF9 ESL Current Absolute Time
        2BFA ESL Display Information
        2BFB ESL Image Information
        2BFC ESL Sensor Information
        2BFD ESL LED Information
        2BFE ESL Control Point
        2BFF UDI for Medical Devices
        """
}
