/** Values with their units as people read them. A missing value is an en dash, never 0. */

import { words } from '@/language/words'

export const MISSING = '–'

function significant(value: number, digits = 3): string {
  if (value === 0) return '0'
  const size = Math.floor(Math.log10(Math.abs(value)))
  return value.toFixed(Math.min(3, Math.max(0, digits - 1 - size)))
}

/** 0.034 as `3.4 %`; whole per cent from 10 on. */
export function percent(ratio: number | null | undefined): string {
  if (ratio === null || ratio === undefined) return MISSING
  const value = ratio * 100
  const { units } = words.value
  if (value !== 0 && Math.abs(value) < 0.1) return `< ${units.percent('0.1')}`
  return units.percent(Math.abs(value) < 9.95 && value !== 0 ? value.toFixed(1) : value.toFixed(0))
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
const DECIMAL = ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']

function scaled(value: number, base: number, names: readonly string[]): string {
  let step = 0
  let rest = Math.abs(value)
  while (rest >= base && step < names.length - 1) {
    rest /= base
    step += 1
  }
  const text = step === 0 ? rest.toFixed(0) : significant(rest)
  return `${value < 0 ? '-' : ''}${text} ${names[step]}`
}

export function bytes(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : scaled(value, 1024, BINARY)
}

/** Rates in decimal steps, as links are rated (PCIe 5.0 x16: 63 GB/s). */
export function bytesPerSecond(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : scaled(value, 1000, DECIMAL)
}

export function watts(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : `${value.toFixed(0)} W`
}

/** Seconds as `340 ms`, `12.4 s`, `3 min 20 s` or `2 h 5 min`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return MISSING
  const { units } = words.value
  const size = Math.abs(seconds)
  if (size < 0.9995) return units.milliseconds(String(Math.round(seconds * 1000)))
  if (size < 59.95) return units.seconds(seconds < 9.95 ? seconds.toFixed(1) : significant(seconds))
  const whole = Math.round(seconds)
  const pair = (big: string, small: number, smallText: string): string => (small === 0 ? big : `${big} ${smallText}`)
  if (whole < 3600) return pair(units.minutes(Math.floor(whole / 60)), whole % 60, units.seconds(String(whole % 60)))
  const minutes = Math.round(whole / 60)
  if (minutes < 48 * 60) return pair(units.hours(Math.floor(minutes / 60)), minutes % 60, units.minutes(minutes % 60))
  return units.days(Math.round(minutes / 1440))
}

/** GPU-seconds from which hours are told. */
const HOURS_FROM = 36_000

function secondsOf(value: number): string {
  if (value > 0 && value < 0.05) return '< 0.1'
  return value >= 99.95 ? value.toFixed(0) : value.toFixed(1)
}

/** GPU-seconds with one decimal, or hours from an hour on. */
export function gpuSeconds(value: number): string {
  const { units } = words.value
  return value >= HOURS_FROM ? units.gpuHours(significant(value / 3600)) : units.gpuSeconds(secondsOf(value))
}

/** The same for a column that is headed by its unit. */
export function bareGpuSeconds(value: number): string {
  return value >= HOURS_FROM ? words.value.units.bareHours(significant(value / 3600)) : secondsOf(value)
}

const BY_UNIT: Record<string, (value: number) => string> = {
  ratio: percent,
  bytes,
  'bytes/s': bytesPerSecond,
  watts,
  seconds: duration,
  cores: (value) => words.value.units.cores(value.toFixed(value < 9.995 ? 2 : 1).replace(/\.0+$/, '')),
  hertz: (value) => `${(value / 1e6).toFixed(0)} MHz`,
  celsius: (value) => `${value.toFixed(0)} °C`,
}

/** A value in a catalogue unit; units without a rule of their own are written after the figure. */
export function quantity(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return MISSING
  const rule = BY_UNIT[unit]
  if (rule) return rule(value)
  return unit ? words.value.units.other(significant(value), unit) : significant(value)
}

/** Samples that may count in parts: whole ones as they are, else one decimal. */
export function weight(value: number): string {
  const rounded = Math.round(value)
  if (Math.abs(value - rounded) < 0.005) return String(rounded)
  return value < 0.05 ? '< 0.1' : value.toFixed(1)
}
