//! Messages in five scripts, unescaped: most bytes of a document are not ASCII.

use std::fmt::Write as _;

use super::random::Random;

const PHRASES: [&str; 10] = [
    "港の灯台は夜明け前に消えた",
    "信号は銅線を通って届きました",
    "Маяк погас перед рассветом",
    "сигнал пришёл по медному проводу",
    "ο φάρος έσβησε πριν την αυγή",
    "المنارة انطفأت قبل الفجر",
    "항구의 등대가 새벽 전에 꺼졌다",
    "🚢⚓🌊🦭🐚",
    "l’été où la marée monta très haut",
    "等到潮水退去，石头才露出来",
];

/// Appends one message.
pub(super) fn message(text: &mut String, random: &mut Random) {
    let mut put = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a String takes all");
    put(format_args!(
        r#"{{"id":{},"user":{{"name":"{}","язык":"{}"}},"text":""#,
        random.below(1 << 32),
        random.pick(&["みらい", "Пелль", "Νίκη", "سارة"]),
        random.pick(&["日本語", "русский", "ελληνικά"]),
    ));
    for index in 0..4 + random.below(12) {
        put(format_args!("{}{}", if index == 0 { "" } else { "。" }, random.pick(&PHRASES)));
    }
    put(format_args!(r#"","題名":"{}","tags":["#, random.pick(&PHRASES)));
    for index in 0..random.below(4) {
        put(format_args!(r#"{}"{}""#, if index == 0 { "" } else { "," }, random.pick(&PHRASES)));
    }
    put(format_args!(r#"],"reply_to":null,"ts":"{}"}}"#, random.date()));
}
